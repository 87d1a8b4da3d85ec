// A link to a part of the page leads there and into it: the first thing that can be used has the focus.
export function goToAnchor(to: string) {
  const name = to.split('#')[1]
  if (!name) return
  // The part may come with an answer that is still on its way.
  let tries = 0
  const look = () => {
    const part = document.getElementById(decodeURIComponent(name))
    if (!part) {
      if (++tries < 40) setTimeout(look, 100)
      return
    }
    part.scrollIntoView({ block: 'center' })
    const usable = part.matches('button, a, input, select, textarea') ? part : part.querySelector<HTMLElement>('button:not([aria-disabled=true]), a[href], input, select, textarea')
    const target = usable ?? part
    if (!usable) part.tabIndex = -1
    target.focus({ preventScroll: true })
  }
  setTimeout(look, 50)
}
