/** Of two texts of the server, the one in the reader's language. */
export function useSpoken() {
  const { language } = usePreferences()
  return (english: string | null | undefined, vietnamese: string | null | undefined): string =>
    (language.value === 'vi' ? vietnamese ?? english : english ?? vietnamese) ?? '—'
}
