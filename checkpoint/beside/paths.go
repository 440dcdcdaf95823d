package beside

// A list of paths: the path's raw bytes, a NUL.
func encodePaths(list []string) []byte {
	var b []byte
	for _, p := range list {
		b = append(b, p+"\x00"...)
	}
	return b
}

func decodePaths(data []byte) ([]string, error) {
	var list []string
	err := records(data, func(rec string) error {
		if rec == "" {
			return malformed("a list of paths has an empty one")
		}
		list = append(list, rec)
		return nil
	})
	return list, err
}
