import assert from 'node:assert/strict'
import test from 'node:test'
import { fitted } from '../../app/utils/graph/fit.ts'

/** Every letter is as wide as the next. */
const letters = (text: string) => [...text].length

test('what fits is left as it is', () => {
  assert.deepEqual(fitted('Ký số', 10, 2, letters), ['Ký số'])
  assert.deepEqual(fitted('Kiểm tra hồ sơ', 8, 2, letters), ['Kiểm tra', 'hồ sơ'])
  assert.deepEqual(fitted('', 8, 2, letters), [])
})

test('what does not fit is cut, and told so', () => {
  assert.deepEqual(fitted('Kiểm tra hồ sơ số 143', 8, 2, letters), ['Kiểm tra', 'hồ sơ s…'], 'as much as there is room for')
  assert.deepEqual(fitted('Kiểm tra hồ sơ số', 8, 1, letters), ['Kiểm tr…'])
  assert.deepEqual(fitted('Kiểm tra hồ sơ', 14, 1, letters), ['Kiểm tra hồ sơ'])
})

test('a word that is wider than the place goes on in the next line', () => {
  assert.deepEqual(fitted('Digitalisierung', 8, 2, letters), ['Digitali', 'sierung'])
  assert.deepEqual(fitted('Digitalisierungsstelle', 8, 2, letters), ['Digitali', 'sierung…'])
  assert.deepEqual(fitted('abc', 0, 2, letters), ['a', 'b…'], 'something is always said')
})

test('no line is wider than the place, however the text is', () => {
  const words = ['a', 'hồ', 'sơ', 'kiểm', 'Digitalisierung', '143', '–']
  for (let seed = 1; seed < 400; seed++) {
    const text = Array.from({ length: seed % 9 }, (_, at) => words[(seed * 7 + at * 13) % words.length]).join(' ')
    for (const width of [2, 5, 9, 17]) {
      const lines = fitted(text, width, 2, letters)
      assert.ok(lines.length <= 2 && lines.every((line) => letters(line) <= width), `${text} in ${width}: ${lines.join('|')}`)
      if (!lines.at(-1)?.endsWith('…')) assert.equal(lines.join('').replaceAll(' ', ''), text.replaceAll(' ', ''))
    }
  }
})
