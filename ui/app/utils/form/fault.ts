// What is wrong with what stands in a field, before anything is sent. The database judges again; this keeps a person from signing something
// that it would refuse, and says why at the field, in the reader's language and not in the browser's.

export interface Fault {
  /** A sentence of the catalogue. */
  key: string
  parameters?: Record<string, string | number>
  /** The place inside a document, when the field holds one. */
  at?: string
}

export interface Control {
  type: string
  value: string
  /** What was typed is no value of this type, so the browser gives an empty one. */
  unreadable: boolean
  required: boolean
  most?: number | undefined
  least?: number | undefined
  minimum?: number | undefined
  maximum?: number | undefined
  whole?: boolean | undefined
  /** A date and time as the control writes it; what stands in it has to be later. */
  earliest?: string | undefined
  pattern?: string | undefined
}

/** Names for programs, as the database takes them; they are said in words. */
const NAME = '[a-z][a-z0-9_]*'

/** Characters as the database counts them; a browser counts those outside the first plane twice. */
export const lengthOf = (text: string) => [...text].length

export function faultOf(control: Control): Fault | undefined {
  const { type, value } = control
  if (control.unreadable) return { key: type === 'number' ? 'shell.field.not_number' : 'shell.field.not_date' }
  if (value.trim() === '') return control.required ? { key: 'shell.field.required' } : undefined
  if (type === 'number') return numberFault(control, Number(value))
  if (type === 'datetime-local' || type === 'date') {
    if (Number.isNaN(Date.parse(value))) return { key: 'shell.field.not_date' }
    return control.earliest !== undefined && value <= control.earliest ? { key: 'shell.field.too_early', parameters: { least: control.earliest.replace('T', ' ') } } : undefined
  }
  const length = lengthOf(value)
  if (control.most !== undefined && length > control.most) return { key: 'shell.field.too_long', parameters: { n: length, most: control.most } }
  if (control.least !== undefined && length < control.least) return { key: 'shell.field.too_short', parameters: { n: length, least: control.least } }
  if (control.pattern !== undefined && !new RegExp(`^(?:${control.pattern})$`, 'v').test(value.trim())) {
    return control.pattern === NAME ? { key: 'shell.field.not_a_name' } : { key: 'shell.field.pattern', parameters: { pattern: control.pattern } }
  }
  return undefined
}

function numberFault(control: Control, value: number): Fault | undefined {
  if (!Number.isFinite(value)) return { key: 'shell.field.not_number' }
  // Beyond this a number becomes another one when it is read.
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return { key: 'shell.field.not_exact' }
  if (control.whole && !Number.isInteger(value)) return { key: 'shell.field.not_whole' }
  if (control.minimum !== undefined && value < control.minimum) return { key: 'shell.field.too_small', parameters: { least: control.minimum } }
  if (control.maximum !== undefined && value > control.maximum) return { key: 'shell.field.too_large', parameters: { most: control.maximum } }
  return undefined
}

/** A control of the page as this looks at it. Lengths stand in data attributes: the browser's own would cut off what is pasted. */
export function controlOf(element: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement): Control {
  const number = (text: string | undefined | null) => (text === undefined || text === null || text === '' ? undefined : Number(text))
  return {
    type: element.type,
    value: element.value,
    unreadable: element.validity.badInput,
    required: element.required,
    most: number(element.dataset.most),
    least: number(element.dataset.least),
    minimum: element.type === 'number' ? number(element.getAttribute('min')) : undefined,
    earliest: element.type === 'datetime-local' ? element.getAttribute('min') ?? undefined : undefined,
    maximum: number(element.getAttribute('max')),
    whole: element.getAttribute('step') === '1',
    pattern: element.getAttribute('pattern') ?? undefined,
  }
}
