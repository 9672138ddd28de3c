/** The order of members that PostgreSQL's jsonb gives back: shorter keys first, then by their UTF-8 bytes. */
export function toJsonbOrder(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  const ordered = entries
    .map(([key, member]) => ({ key, bytes: Buffer.from(key), member: order(member) }))
    .sort((a, b) => a.bytes.length - b.bytes.length || Buffer.compare(a.bytes, b.bytes))
  return Object.fromEntries(ordered.map(({ key, member }) => [key, member]))
}

function order(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(order)
  return typeof value === 'object' && value !== null ? toJsonbOrder({ ...value }) : value
}
