// To be deleted when the server sends a palette with every token.
const LIGHT: Record<string, [bg: string, fg: string, border: string, dark: string]> = {
  gray: ['#C4C8D4', '#111827', '#838BA5', '#C4C8D4'],
  green_pale: ['#D9FEE7', '#111827', '#04A13F', '#D9FEE7'],
  green: ['#36A062', '#111827', '#36A062', '#36A062'],
  yellow: ['#F1E894', '#111827', '#9B8E14', '#F1E894'],
  yellow_dark: ['#CF6408', '#111827', '#CF6408', '#CF6408'],
  red_pale: ['#F49A9D', '#111827', '#ED5A5F', '#F49A9D'],
  red: ['#A82427', '#FFFFFF', '#A82427', '#C52A2E'],
  red_dark: ['#4D0510', '#FFFFFF', '#4D0510', '#CE0D2B'],
  green_deep: ['#12695E', '#FFFFFF', '#12695E', '#14766A'],
}
const FILLED = new Set(['yellow_dark', 'red_pale', 'red', 'red_dark'])

export function fallbackPaint(colour: string | undefined, theme: Theme): Paint {
  const name = colour?.split('.').pop() ?? 'gray'
  const [bg, fg, light, dark] = LIGHT[name] ?? LIGHT.gray!
  if (theme === 'contrast') return FILLED.has(name) ? { bg: '#FFFFFF', fg: '#000000', border: '#FFFFFF' } : { bg: '#000000', fg: '#FFFFFF', border: '#FFFFFF' }
  return { bg, fg, border: theme === 'dark' ? dark : light }
}
