package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"strconv"
)

// codeAlphabet and codeLength are those of the 0x1F outline: five characters of [a-zA-Z0-9], 62^5 codes.
const (
	codeAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	codeLength   = 5
)

// code is the n-th candidate for the key of a link that is created without one. It is random to everybody without the secret, yet the same
// when a command is repeated: so a create whose answer was lost finds its own link instead of making a second one.
func code(secret, command string, n int) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte("code\x00" + strconv.Itoa(n) + "\x00" + command))
	out := make([]byte, 0, codeLength)
	// Bytes from 248 on are left out: 248 is the largest multiple of 62 that fits, so every letter is equally likely.
	for sum := m.Sum(nil); ; sum = m.Sum(nil) {
		for _, b := range sum {
			if b >= 248 {
				continue
			}
			if out = append(out, codeAlphabet[b%62]); len(out) == codeLength {
				return string(out)
			}
		}
		m.Write([]byte{0})
	}
}
