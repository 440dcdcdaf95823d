package beside

import "strings"

// NameLFS is the entry of the list of LFS content.
const NameLFS = nameLFS

// The list of LFS content: OID, NUL.
func encodeLFS(oids []string) []byte {
	if len(oids) == 0 {
		return nil
	}
	return []byte(strings.Join(oids, "\x00") + "\x00")
}

// DecodeLFS reads the list of LFS content alone.
func DecodeLFS(data []byte) ([]string, error) {
	var oids []string
	err := records(data, func(rec string) error {
		if len(rec) != 64 || strings.Trim(rec, "0123456789abcdef") != "" {
			return malformed("its list of LFS content holds %.60q", rec)
		}
		oids = append(oids, rec)
		return nil
	})
	return oids, err
}
