// Where the focus goes when what had it is gone.

const FIELDS = 'input, select, textarea, button, a[href]'

/** The first thing inside that can be seen and used. */
export function focusFirst(root: HTMLElement | null | undefined, within = '') {
  const found = [...(root?.querySelectorAll<HTMLElement>(FIELDS.split(', ').map((one) => `${within} ${one}`).join(', ')) ?? [])]
  found.find((one) => one.checkVisibility())?.focus()
}

/** Only when nothing has it: a button that was pressed may be gone after what it did. */
export function keepFocus(root: HTMLElement | null | undefined) {
  if (document.activeElement === null || document.activeElement === document.body) focusFirst(root)
}
