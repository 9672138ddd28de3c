const fields = new Set(['event', 'id', 'retry', 'data'])

/**
 * One server-sent event. A text is its data; an object with no other keys than `event`, `id`, `retry` and `data`, and
 * with the last, gives the fields; anything else is sent as JSON.
 */
export function toEvent(value: unknown, stringify: (value: unknown) => string): string {
  if (!isFields(value)) return `${dataLines(value, stringify)}\n`
  const lines = ['event', 'id', 'retry'].flatMap((name) => {
    const field = value[name]
    // A line break would begin a field that the handler did not write.
    return field === undefined ? [] : [`${name}: ${String(field).replaceAll(/[\r\n\0]/g, '')}\n`]
  })
  return `${lines.join('')}${dataLines(value.data, stringify)}\n`
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || !('data' in value)) return false
  return Object.keys(value).every((key) => fields.has(key))
}

function dataLines(value: unknown, stringify: (value: unknown) => string): string {
  const text = typeof value === 'string' ? value : stringify(value)
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')
}
