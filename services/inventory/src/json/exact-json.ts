/** JSON that is kept as the text it is, a number for instance: JavaScript would take digits from it. */
export class JsonLiteral {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type JsonMembers = Map<string, ExactJson>

/** A JSON value whose numbers have all their digits. */
export type ExactJson = string | boolean | null | JsonLiteral | readonly ExactJson[] | JsonMembers

/** Reads JSON; undefined for what is none. */
export function readExactJson(text: string): ExactJson | undefined {
  try {
    return JSON.parse(text, (_key, value, context?: { readonly source?: string }) => {
      if (typeof value === 'number') return new JsonLiteral(context?.source ?? String(value))
      return isPlainObject(value) ? new Map(Object.entries(value)) : value
    })
  } catch {
    return undefined
  }
}

export function writeExactJson(value: ExactJson): string {
  if (value instanceof JsonLiteral) return value.text
  if (value instanceof Map) {
    return `{${[...value].map(([key, member]) => `${JSON.stringify(key)}:${writeExactJson(member)}`).join(',')}}`
  }
  return Array.isArray(value) ? `[${value.map(writeExactJson).join(',')}]` : JSON.stringify(value)
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
