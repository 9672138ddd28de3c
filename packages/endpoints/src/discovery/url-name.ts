/** Converts `CheBaz` to `che-baz`, `HTTPFoo` to `http-foo` and `foo_bar` to `foo-bar` (reference: URL names). */
export function urlName(name: string): string {
  return name
    .replaceAll('_', '-')
    .replaceAll(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-')
    .toLowerCase()
}

/** The URL name of a class, and the file extension that determines its media type. */
export interface ClassUrlName {
  readonly name: string
  /** For example, `txt` for the class `Foo_txt`. */
  readonly extension: string | undefined
}

/**
 * Converts the name of a class to a URL name: `Foo` → `foo`. One `_` becomes the dot of an extension: `FooBar_txt` →
 * `foo-bar.txt`, `Default_html` → `index.html`. A trailing `_` is removed, so that a class can be named after a reserved word:
 * `Foo_` → `foo`.
 * @throws Error if the name has more than one inner `_`
 */
export function classUrlName(exportName: string): ClassUrlName {
  const [stem = '', extension, ...more] = exportName.replace(/_$/, '').split('_')
  if (more.length > 0) throw new Error(`${exportName} has more than one "_"; one makes an extension`)
  if (extension === undefined) return { name: urlName(stem), extension: undefined }
  const name = stem === 'Default' ? 'index' : urlName(stem)
  return { name: `${name}.${urlName(extension)}`, extension: urlName(extension) }
}
