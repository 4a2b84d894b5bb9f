package admin

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"strconv"
	"strings"

	"linkfold/schema/linkfoldv1"
)

// Alphabets of codes: that of the 0x1F outline, and that of QR domains, whose upper case a symbol stores in fewer bits (DESIGN.md §9).
const (
	randomAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	qrAlphabet     = "abcdefghijklmnopqrstuvwxyz0123456789"
)

// codeLength is the default: with the random alphabet that of the 0x1F outline, 62^5 codes.
const codeLength = 5

// generator makes the keys of a domain.
type generator struct {
	alphabet string
	length   int
}

func generatorOf(d *linkfoldv1.Domain) generator {
	g := generator{randomAlphabet, int(cmp.Or(d.GetCodeLength(), codeLength))}
	if d.GetGenerator() == linkfoldv1.Generator_GENERATOR_QR {
		g.alphabet = qrAlphabet
	}
	return g
}

// code is the n-th candidate for the key of a link that is created without one. It is random to everybody without the secret, yet the same
// when a command is repeated: so a create whose answer was lost finds its own link instead of making a second one.
func (g generator) code(secret, command string, n int) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte("code\x00" + strconv.Itoa(n) + "\x00" + command))
	out := make([]byte, 0, g.length)
	// Bytes beyond the largest multiple of the alphabet's size are left out, so every letter is equally likely.
	limit := 256 - 256%len(g.alphabet)
	for sum := m.Sum(nil); ; sum = m.Sum(nil) {
		for _, b := range sum {
			if int(b) >= limit {
				continue
			}
			if out = append(out, g.alphabet[int(b)%len(g.alphabet)]); len(out) < g.length {
				continue
			}
			if strings.Trim(string(out), "0123456789") != "" {
				return string(out)
			}
			out = out[:0] // Digits alone have no case to tell a scan by, and look like a number that counts up.
		}
		m.Write([]byte{0})
	}
}
