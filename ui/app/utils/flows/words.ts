// Words for names that the server uses: calls, kinds, titles in two languages.

type Title = { en?: string | null; vi?: string | null } | null | undefined

export function useFlowWords() {
  const t = useT()
  const { language } = usePreferences()

  const known = (key: string, otherwise: string) => (t.has(key) ? t(key) : otherwise)

  return {
    /** A title in the reader's language; in the other one when there is no such. */
    titleOf: (title: Title, otherwise: string) => title?.[language.value] ?? title?.en ?? title?.vi ?? otherwise,
    nameOf: (work: { name_en: string; name_vi: string }) => (language.value === 'vi' ? work.name_vi : work.name_en),
    /** What a button that makes the call says. Calls of steps and tasks differ only in their first word. */
    callLabel: (call: string) => known(`flows.call.${call.replace(/^(step|task|workflow)_/, '')}`, call),
    colourLabel: (colour: string) => known(`flows.colour.${colour}`, colour),
    kindLabel: (kind: string) => known(`flows.kind.${kind}`, kind),
    fieldLabel: (field: string) => known(`flows.field.${field}`, field),
    known,
  }
}
