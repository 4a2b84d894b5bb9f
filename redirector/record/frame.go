package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

const (
	recordHeader = 8       // length and CRC32C, 4 bytes each, little endian
	maxRecord    = 8 << 20 // well above any batch
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeRecord(b *batch) []byte {
	payload := b.encode()
	rec := make([]byte, recordHeader, recordHeader+len(payload))
	binary.LittleEndian.PutUint32(rec, uint32(len(payload)))
	binary.LittleEndian.PutUint32(rec[4:], crc32.Checksum(payload, castagnoli))
	return append(rec, payload...)
}

// readRecord reads the record at offset and returns its length in the file. The error is io.EOF at the exact end of the file. With any
// other error the length tells where the next record begins, or is 0 when nobody knows: a torn record.
func readRecord(f *os.File, offset int64) (*batch, int64, error) {
	var head [recordHeader]byte
	if _, err := f.ReadAt(head[:], offset); err != nil {
		if st, serr := f.Stat(); serr == nil && st.Size() == offset {
			return nil, 0, io.EOF
		}
		return nil, 0, fmt.Errorf("read record header: %w", unexpected(err))
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > maxRecord {
		return nil, 0, fmt.Errorf("record of %d bytes: %w", n, errBatch)
	}
	payload := make([]byte, n)
	if _, err := f.ReadAt(payload, offset+recordHeader); err != nil {
		return nil, 0, fmt.Errorf("read record: %w", unexpected(err))
	}
	length := recordHeader + int64(n)
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, length, fmt.Errorf("checksum does not match: %w", errBatch)
	}
	b, err := decodeBatch(payload)
	return b, length, err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
