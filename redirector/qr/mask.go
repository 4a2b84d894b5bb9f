package qr

// penalty is the standard's measure of what confuses scanners (ISO/IEC 18004, evaluation of masking): runs of one colour, blocks of one colour,
// what looks like a finder, and a share of dark that is far from half.
func penalty(m [][]bool) int {
	p := blocks(m) + balance(m)
	line := make([]bool, len(m))
	for i, row := range m {
		p += runs(row) + finders(row)
		for j := range m {
			line[j] = m[j][i]
		}
		p += runs(line) + finders(line)
	}
	return p
}

// runs counts 3 for five modules of one colour in a row, and 1 for each further one.
func runs(line []bool) (p int) {
	n := 0
	for i, dark := range line {
		if i > 0 && dark == line[i-1] {
			n++
		} else {
			n = 1
		}
		switch {
		case n == 5:
			p += 3
		case n > 5:
			p++
		}
	}
	return p
}

// blocks counts 3 for each square of 2 by 2 modules of one colour.
func blocks(m [][]bool) (p int) {
	for y := 1; y < len(m); y++ {
		for x := 1; x < len(m); x++ {
			if c := m[y][x]; c == m[y-1][x] && c == m[y][x-1] && c == m[y-1][x-1] {
				p += 3
			}
		}
	}
	return p
}

// finders counts 40 for each 1:1:3:1:1 with four light modules at one end.
func finders(line []bool) (p int) {
	const before, after = 0b00001011101, 0b10111010000
	window := 0
	for i, dark := range line {
		window = window << 1 & (1<<11 - 1)
		if dark {
			window |= 1
		}
		if i >= 10 && (window == before || window == after) {
			p += 40
		}
	}
	return p
}

// balance counts 10 for each whole 5 % that the share of dark is off half.
func balance(m [][]bool) int {
	dark := 0
	for _, row := range m {
		for _, d := range row {
			if d {
				dark++
			}
		}
	}
	all := len(m) * len(m)
	off := dark*20 - all*10
	return max(off, -off) / all * 10
}
