import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

const BEYOND_ASCII = /[^\0-\x7f]/g

/**
 * SQL that a program sends has ASCII alone, in its comments too: PostgreSQL translates a whole text into the
 * encoding of the database, and refuses one with a character that the encoding lacks. Others have made the
 * databases that we adopt.
 */
export const asciiSql: Rule = (tree) => [
  ...tree.files
    .filter(({ path }) => /^migrations\/.*\.sql$/.test(path))
    .flatMap((file) => charactersOf(file, file.text, 0)),
  ...['migrations', 'packages', 'services'].flatMap((folder) =>
    productionFiles(tree, folder).flatMap(templateProblems),
  ),
]

function templateProblems(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  visitSyntax(file, {
    TaggedTemplateExpression({ tag, quasi }) {
      if (tag.type !== 'Identifier' || tag.name !== 'sql') return
      problems.push(...quasi.quasis.flatMap(({ value, start }) => charactersOf(file, value.raw, start)))
    },
  })
  return problems
}

function charactersOf({ path, text }: SourceFile, part: string, start: number): readonly Problem[] {
  return [...part.matchAll(BEYOND_ASCII)].map(({ 0: character, index }) => ({
    path,
    line: lineAt(text, start + index),
    message: `has ${character} in its SQL, which not every database can have: write it in ASCII`,
  }))
}
