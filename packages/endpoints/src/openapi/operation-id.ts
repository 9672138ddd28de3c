/** `GET` and `/foo/{bar}` → `getFooWithBar`; the name of an operation in generated clients. */
export function operationId(verb: string, base: string, places: readonly string[]): string {
  return [verb.toLowerCase(), camel(base), places.length === 0 ? '' : 'With', ...places.map(camel)].join('')
}

function camel(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/)
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
