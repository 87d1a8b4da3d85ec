// Figures beside their budgets, and what is said about them in the end.

/** The least share of a processor that the browser's tasks may have got; below it the clock tells about the machine, not about the page. */
const MOSTLY = 0.75

const shown = (value) => (value === undefined ? '' : Number.isInteger(value) ? String(value) : value.toFixed(1))

export const percentile = (values, part) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? NaN

export class Table {
  rows = []
  share = 1

  /** Tasks took so much of a processor while the clock went on for so long. */
  got(share) {
    this.share = Math.min(this.share, share)
  }

  /** A figure. What the clock tells is not judged on a busy machine, and what is not judged has not passed. */
  row(what, figure, budget, unit, byClock = false) {
    const busy = byClock && this.share < MOSTLY
    const verdict = budget === undefined ? '' : figure <= budget ? 'ok' : busy ? 'BUSY' : 'OVER'
    this.rows.push({ what, figure, budget, unit, verdict })
  }

  lines() {
    const wide = Math.max(...this.rows.map((one) => one.what.length))
    return this.rows.map((one) => {
      const budget = one.budget === undefined ? '' : `≤ ${shown(one.budget)}`
      return `${one.what.padEnd(wide)}  ${shown(one.figure).padStart(8)} ${one.unit.padEnd(2)}  ${budget.padStart(9)}  ${one.verdict}`.trimEnd()
    })
  }

  /** What is wrong, as one sentence; nothing when all is within its budget. */
  wrong() {
    const [over, busy] = ['OVER', 'BUSY'].map((verdict) => this.rows.filter((one) => one.verdict === verdict).map((one) => one.what))
    const parts = []
    if (over.length > 0) parts.push(`over their budget: ${over.join('; ')}`)
    if (busy.length > 0) parts.push(`not judged, since the browser got ${Math.round(this.share * 100)} % of a processor only: ${busy.join('; ')}`)
    return parts.length > 0 ? parts.join('. ') : undefined
  }
}
