/** `CheBaz` → `che-baz`, `HTTPFoo` → `http-foo`, `foo_bar` → `foo-bar`, `Foo2` → `foo2` (reference: URL names). */
export function urlName(name: string): string {
  return name
    .replaceAll('_', '-')
    .replaceAll(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-')
    .toLowerCase()
}

/** The URL name of a class, and the extension that says what it answers with. */
export interface ClassUrlName {
  readonly name: string
  /** `txt` of `Foo_txt`. */
  readonly extension: string | undefined
}

/**
 * `Foo` → `foo`; one `_` becomes the dot of an extension, `FooBar_txt` → `foo-bar.txt`, `Default_html` → `index.html`;
 * a trailing one lets a class bear a reserved word, `Foo_` → `foo`.
 * @throws Error when there are several.
 */
export function classUrlName(exportName: string): ClassUrlName {
  const [stem = '', extension, ...more] = exportName.replace(/_$/, '').split('_')
  if (more.length > 0) throw new Error(`${exportName} has more than one "_"; one makes an extension`)
  if (extension === undefined) return { name: urlName(stem), extension: undefined }
  const name = stem === 'Default' ? 'index' : urlName(stem)
  return { name: `${name}.${urlName(extension)}`, extension: urlName(extension) }
}
