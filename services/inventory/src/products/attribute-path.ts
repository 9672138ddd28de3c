/** Keys that lead to a value inside the attributes, outermost first. */
export type AttributePath = readonly string[]

const KEYS_MAX = 8
/** A key in double quotes with the escapes of JSON, or one without the characters that mean something here. */
const KEY = /(?:("(?:[^"\\]|\\.)*")|([^."[\]]+))(\.|$)/y

/** Reads keys joined with dots: `dim.w`, `"a.b".c`. Undefined for any other text, and for more than eight keys (reference: Filter paths). */
export function parseAttributePath(text: string): AttributePath | undefined {
  const keys: string[] = []
  KEY.lastIndex = 0
  for (let more = true; more; ) {
    const [, quoted, plain, dot] = KEY.exec(text) ?? []
    const key = quoted === undefined ? plain : unquote(quoted)
    if (key === undefined || key.includes('\0') || !key.isWellFormed() || keys.length === KEYS_MAX) return undefined
    keys.push(key)
    more = dot === '.'
  }
  return keys
}

function unquote(literal: string): string | undefined {
  try {
    return String(JSON.parse(literal))
  } catch {
    return undefined
  }
}

/** The path as jsonpath: it finds a value only where each key is one of an object. */
export function toJsonPath(path: AttributePath): string {
  return `strict $${path.map((key) => `.${JSON.stringify(key)}`).join('')}`
}

/** The JSON of objects in each other that hold `literal`, itself JSON, at the path. */
export function nestJson(path: AttributePath, literal: string): string {
  return path.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, literal)
}

/** A path that is another one too, or leads through it: both cannot have a value of their own. */
export function findClash(paths: readonly AttributePath[]): AttributePath | undefined {
  return paths.find((path, at) =>
    paths.some((other, i) => i !== at && path.every((key, depth) => key === other[depth])),
  )
}
