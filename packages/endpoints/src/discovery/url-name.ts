/** `CheBaz` → `che-baz`, `HTTPFoo` → `http-foo`, `foo_bar` → `foo-bar`, `Foo2` → `foo2` (reference: URL names). */
export function urlName(name: string): string {
  return name
    .replaceAll('_', '-')
    .replaceAll(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-')
    .toLowerCase()
}

/** The URL name of a class, and the extension that sets its media type. */
export interface ClassUrlName {
  readonly name: string
  /** `txt` of `Foo_txt`. */
  readonly extension: string | undefined
}

/**
 * `Foo` → `foo`. One `_` becomes the dot of an extension: `FooBar_txt` → `foo-bar.txt`, `Default_html` →
 * `index.html`. A trailing `_` is dropped, so that a class may have a reserved word as its name: `Foo_` →
 * `foo`.
 * @throws Error for more than one inner `_`
 */
export function classUrlName(exportName: string): ClassUrlName {
  const [stem = '', extension, ...more] = exportName.replace(/_$/, '').split('_')
  if (more.length > 0) throw new Error(`${exportName} has more than one "_"; one makes an extension`)
  if (extension === undefined) return { name: urlName(stem), extension: undefined }
  const name = stem === 'Default' ? 'index' : urlName(stem)
  return { name: `${name}.${urlName(extension)}`, extension: urlName(extension) }
}
