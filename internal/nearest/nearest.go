// Package nearest finds the word that somebody meant.
package nearest

// Word returns the word of among that is nearest to word, counted in inserted,
// removed, changed and swapped letters; "" when none is near enough to be meant.
// Of equally near words the first wins.
func Word(word string, among []string) string {
	best, found := 1+limit(word), ""
	for _, candidate := range among {
		if d := distance([]rune(word), []rune(candidate)); d < best {
			best, found = d, candidate
		}
	}
	return found
}

// limit is how many letters may differ: a third of the word, at least one, at
// most three.
func limit(word string) int {
	return min(max(len([]rune(word))/3, 1), 3)
}

// distance is the optimal string alignment distance.
func distance(a, b []rune) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, prev[j]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
