/** The verbs that a URL can answer, in the order of the header `Allow`. */
export const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export type Verb = (typeof VERBS)[number]

const verbs: ReadonlySet<string> = new Set(VERBS)

export function isVerb(method: string): method is Verb {
  return verbs.has(method)
}
