/** Matches `{{include:actor.sql}}`, or `{{include:membership.sql merchant_id => m.id, identity_id => c.id}}`. */
export const INCLUDE = /\{\{include:([a-z0-9_]+\.sql)((?:[^{}]|\{\{:[a-z_]+\}\})*)\}\}/g
/** A parameter of a fragment: `{{:merchant_id}}`. */
const PARAMETER = /\{\{:([a-z_]+)\}\}/g
/** The comment about the fragment itself, at its beginning. */
const HEADER = /^(?:--.*\n)+/

/** Returns the text of a fragment by file name. @throws Error for a missing fragment */
export type ReadFragment = (name: string) => string

/**
 * Replaces `{{include:name.sql}}` with the fragment, without its first comment. Indents each line like the including line. A
 * fragment may include others, and pass its own parameters to them.
 * @throws Error if an include has other parameters than the fragment, and the errors of `read`
 */
export function includeFragments(text: string, read: ReadFragment): string {
  return text.replaceAll(INCLUDE, (_, name: string, given: string, index: number) => {
    const fragment = withValues(name, bodyOf(read(name)), valuesIn(given))
    const [indent = ''] = /^ */.exec(text.slice(text.lastIndexOf('\n', index) + 1)) ?? []
    return includeFragments(fragment, read).replaceAll('\n', `\n${indent}`)
  })
}

/**
 * A fragment for a query, with included fragments. Its parameters stay in the text: `{{:key_mac}}`.
 * @throws the errors of `includeFragments`
 */
export function fragmentText(name: string, read: ReadFragment): string {
  return includeFragments(bodyOf(read(name)), read)
}

function bodyOf(fragment: string): string {
  return fragment.replace(HEADER, '').trimEnd()
}

/** Parses ` merchant_id => m.id, identity_id => c.id`. */
function valuesIn(given: string): ReadonlyMap<string, string> {
  const parts = given.trim() === '' ? [] : given.split(/,(?=\s*[a-z_]+ => )/)
  return new Map(
    parts.map((part) => {
      const [name = '', ...value] = part.split(' => ')
      return [name.trim(), value.join(' => ')]
    }),
  )
}

function withValues(name: string, text: string, values: ReadonlyMap<string, string>): string {
  const wanted = [...text.matchAll(PARAMETER)].map(([, parameter = '']) => parameter)
  const differing = new Set(
    [...wanted, ...values.keys()].filter((each) => !(wanted.includes(each) && values.has(each))),
  )
  if (differing.size > 0) throw new Error(`an include of ${name} gives other parameters: ${[...differing].join(', ')}`)
  return text.replaceAll(PARAMETER, (_, parameter: string) => values.get(parameter) ?? '')
}
