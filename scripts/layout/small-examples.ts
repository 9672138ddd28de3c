/**
 * The examples of the framework that users copy whole, and the reason of each for its few short files. No rule about the size of
 * a file or a folder applies to them.
 */
export const SMALL_EXAMPLES: ReadonlyMap<string, string> = new Map([
  [
    'packages/endpoints/examples/clock',
    'a controller, and the Worker that serves it, which needs no folder of controllers',
  ],
  ['packages/endpoints/examples/notes', 'a controller, what it keeps, and the server: the smallest CRUD'],
  ['packages/endpoints/examples/shop', 'a controller with guards, and the server: a module named in place of a folder'],
])

/** The small example that a file or folder belongs to. Undefined outside of them. */
export function smallExampleOf(path: string): string | undefined {
  return [...SMALL_EXAMPLES.keys()].find((example) => path === example || path.startsWith(`${example}/`))
}
