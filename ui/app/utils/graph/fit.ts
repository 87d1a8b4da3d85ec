// A short label in a narrow place. Cut here and not by the style sheet: what is clipped is painted apart, and hundreds of such parts made
// every frame of panning three times as long.

/** The text in at most so many lines, none of them wider than `width`; what does not fit is left out and told by an ellipsis. */
export function fitted(text: string, width: number, most: number, measure: (text: string) => number): string[] {
  const lines: string[] = []
  let line = ''
  let broken = false
  let words = text.split(/\s+/).filter(Boolean)
  while (words.length > 0 && lines.length < most) {
    const [word, ...rest] = words as [string, ...string[]]
    const longer = line ? `${line} ${word}` : word
    if (measure(longer) <= width) {
      line = longer
      words = rest
      broken = false
    } else if (line) {
      lines.push(line)
      line = ''
    } else {
      // A word wider than the place goes on in the next line.
      const part = longest(word, (some) => measure(some) <= width)
      lines.push(part)
      broken = part !== word
      words = broken ? [word.slice(part.length), ...rest] : rest
    }
  }
  if (line) lines.push(line)
  if (words.length === 0) return lines
  const left = `${lines.pop()}${broken ? '' : ' '}${words.join(' ')}`
  return [...lines, `${longest(left, (some) => measure(`${some}…`) <= width).trimEnd()}…`]
}

/** The longest beginning that fits; one letter at least, so that something is always said. */
function longest(text: string, fits: (some: string) => boolean): string {
  const letters = [...text]
  let [low, high] = [1, letters.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(letters.slice(0, middle).join(''))) low = middle
    else high = middle - 1
  }
  return letters.slice(0, low).join('')
}
