import type { Declaration } from 'oxc-parser'
import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { commentsOf, lineAt, programOf } from './syntax.ts'

/**
 * Exports that explain themselves: the text of an error in a catalogue, and a migration, whose file begins with its reason.
 */
const EXEMPT = /(^|[/-])errors\.ts$|^migrations\/[^/]+\/\d{4}-[^/]+\.ts$|\.test\.ts$/

/**
 * A first word that leaves the thing itself unsaid: "Where a link ends" in place of "The end of a link", or
 * "Its address". The reader would have to read the signature first.
 */
const FRAGMENT =
  /^\*[\s*]+(Of|Where|What|Which|Who|Whoever|Whom|Whose|Its|By|Such|That|These|Those|The ones? (?:of|that|who|whose))\b/

/**
 * Every export has a docstring, and every docstring names its thing first. The later signatures of an
 * overloaded function share the docstring of the first.
 */
export const docstrings: Rule = ({ files }) => {
  const sources = files.filter(({ path }) => path.endsWith('.ts'))
  return [
    ...sources.filter(({ path }) => !EXEMPT.test(path)).flatMap(undocumentedExports),
    ...sources.flatMap(fragments),
  ]
}

function fragments(file: SourceFile): readonly Problem[] {
  return commentsOf(file).flatMap(({ type, value, start }) => {
    const [, opening] = type === 'Block' ? (FRAGMENT.exec(value) ?? []) : []
    if (opening === undefined) return []
    return {
      path: file.path,
      line: lineAt(file.text, start),
      message: `begins a docstring with "${opening}": name the thing first`,
    }
  })
}

function undocumentedExports(file: SourceFile): readonly Problem[] {
  const documented = new Set<string>()
  return programOf(file).body.flatMap((node) => {
    if (node.type !== 'ExportNamedDeclaration' || node.declaration === null) return []
    const names = namesOf(node.declaration)
    if (docstringAbove(file, node.start) !== undefined) for (const name of names) documented.add(name)
    return names
      .filter((name) => !documented.has(name))
      .map((name) => ({
        path: file.path,
        line: lineAt(file.text, node.start),
        message: `exports ${name} without a docstring: say what its signature does not`,
      }))
  })
}

function namesOf(declaration: Declaration): readonly string[] {
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.map(({ id }) => (id.type === 'Identifier' ? id.name : 'a pattern'))
  }
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? [declaration.id.name] : []
}

/** The text of the docstring that ends where a statement starts, without its delimiters; undefined when there is none. */
export function docstringAbove(file: SourceFile, start: number): string | undefined {
  return commentsOf(file).find(
    ({ type, value, end }) =>
      type === 'Block' && value.startsWith('*') && end <= start && file.text.slice(end, start).trim() === '',
  )?.value
}
