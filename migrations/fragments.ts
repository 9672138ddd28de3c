/** `{{include:actor.sql}}`, or `{{include:membership.sql merchant_id => m.id, identity_id => c.id}}`. */
export const INCLUDE = /\{\{include:([a-z0-9_]+\.sql)((?:[^{}]|\{\{:[a-z_]+\}\})*)\}\}/g
/** A parameter of a fragment: `{{:merchant_id}}`. */
const PARAMETER = /\{\{:([a-z_]+)\}\}/g
/** The comment of a fragment about itself, at its beginning. */
const HEADER = /^(?:--.*\n)+/

/** Returns the text of a fragment by the name of its file. @throws Error for a fragment that is not there */
export type ReadFragment = (name: string) => string

/**
 * Puts fragments in the places of `{{include:name.sql}}`, without their first comment, and each line as far
 * to the right as the line that includes it. A fragment may include others, and hand its own parameters on.
 * @throws Error for an include that gives other parameters than the fragment has, and what `read` throws
 */
export function includeFragments(text: string, read: ReadFragment): string {
  return text.replaceAll(INCLUDE, (_, name: string, given: string, index: number) => {
    const fragment = withValues(name, bodyOf(read(name)), valuesIn(given))
    const [indent = ''] = /^ */.exec(text.slice(text.lastIndexOf('\n', index) + 1)) ?? []
    return includeFragments(fragment, read).replaceAll('\n', `\n${indent}`)
  })
}

/**
 * A fragment for a query, with the fragments that it includes. Its parameters stay as they are written, `{{:key_mac}}`.
 * @throws what `includeFragments` throws
 */
export function fragmentText(name: string, read: ReadFragment): string {
  return includeFragments(bodyOf(read(name)), read)
}

function bodyOf(fragment: string): string {
  return fragment.replace(HEADER, '').trimEnd()
}

/** Reads ` merchant_id => m.id, identity_id => c.id`. */
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
