import { type Comment, type Program, parseSync, Visitor, type VisitorObject } from 'oxc-parser'
import type { SourceFile } from './source-tree.ts'

/** An `import`, `export … from` or `import()` of one file. */
export interface ImportedModule {
  /** The text between the quotes. Empty for an `import()` with a computed argument. */
  readonly specifier: string
  /** The names of the imported values. Empty for a namespace or an import without names. */
  readonly names: readonly string[]
  /** The names of imported types: `type Item` in `{ type Item, sell }`. */
  readonly typeNames: readonly string[]
  /** Whether every export may be used: a namespace, a default, `export *` or `import()`. */
  readonly isWhole: boolean
  /** Whether it is `import type …`, which is removed before the program runs. */
  readonly isType: boolean
  readonly line: number
}

/** The line of an offset, starting at 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

interface ParsedFile {
  readonly program: Program
  readonly comments: readonly Comment[]
}

/** Caches parsed files. Parsing takes most of the check's time, and many rules read the same files. */
const parsed = new WeakMap<SourceFile, ParsedFile>()
const imported = new WeakMap<SourceFile, readonly ImportedModule[]>()

/** Walks the syntax tree of a file. @throws Error if the file cannot be parsed */
export function visitSyntax(file: SourceFile, visitor: VisitorObject): void {
  new Visitor(visitor).visit(programOf(file))
}

/** The comments of a file with their start and end positions. @throws Error if the file cannot be parsed */
export function commentsOf(file: SourceFile): readonly Comment[] {
  return parse(file).comments
}

/** The statements of a file. @throws Error if the file cannot be parsed */
export function programOf(file: SourceFile): Program {
  return parse(file).program
}

function parse(file: SourceFile): ParsedFile {
  const known = parsed.get(file)
  if (known !== undefined) return known
  const { program, comments, errors } = parseSync(file.path, file.text)
  if (errors[0] !== undefined) throw new Error(`${file.path}: ${errors[0].message}`)
  const result = { program, comments }
  parsed.set(file, result)
  return result
}

/** All imports of a file, including type-only imports. @throws Error if the file cannot be parsed */
export function importsOf(file: SourceFile): readonly ImportedModule[] {
  const known = imported.get(file)
  if (known !== undefined) return known
  const found = findImports(file)
  imported.set(file, found)
  return found
}

function findImports(file: SourceFile): readonly ImportedModule[] {
  const found: ImportedModule[] = []
  const add = (
    specifier: string,
    offset: number,
    { names = [], typeNames = [], isWhole = false, isType = false }: Partial<ImportedModule> = {},
  ): void => {
    found.push({ specifier, names, typeNames, isWhole, isType, line: lineAt(file.text, offset) })
  }
  visitSyntax(file, {
    ImportDeclaration(node) {
      const namesOf = (kind: 'type' | 'value') =>
        node.specifiers.flatMap((specifier) =>
          specifier.type === 'ImportSpecifier' &&
          specifier.importKind === kind &&
          specifier.imported.type === 'Identifier'
            ? [specifier.imported.name]
            : [],
        )
      const isWhole = node.specifiers.some(({ type }) => type !== 'ImportSpecifier')
      add(node.source.value, node.start, {
        names: namesOf('value'),
        typeNames: namesOf('type'),
        isWhole,
        isType: node.importKind === 'type',
      })
    },
    ExportNamedDeclaration(node) {
      const names = node.specifiers.flatMap(({ local }) => (local.type === 'Identifier' ? [local.name] : []))
      if (node.source) add(node.source.value, node.start, { names, isType: node.exportKind === 'type' })
    },
    ExportAllDeclaration(node) {
      add(node.source.value, node.start, { isWhole: true, isType: node.exportKind === 'type' })
    },
    ImportExpression(node) {
      const { source } = node
      const specifier = source.type === 'Literal' && typeof source.value === 'string' ? source.value : ''
      add(specifier, node.start, { isWhole: true })
    },
    TSImportType({ source, start }) {
      add(source.value, start, { isWhole: true, isType: true })
    },
  })
  return found
}
