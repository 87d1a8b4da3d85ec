/** The theme that is on, for what paints by itself. */
export function useTheme() {
  const { theme, chosenTheme } = usePreferences()
  return { theme, chosenTheme }
}
