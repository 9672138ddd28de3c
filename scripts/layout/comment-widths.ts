import { isTest, type Problem, type Rule, type SourceFile } from './source-tree.ts'
import { commentsOf } from './syntax.ts'

const CODE = /^(services|packages|migrations|scripts|bench|deploy|examples)\/.*\.(ts|m?js)$/
const SQL = /^migrations\/.*\.sql$/
const COLUMNS_MAX = 130

/** A line of a comment can be read without scrolling. Text that is wrapped anew ends at 110 columns. */
export const commentWidths: Rule = ({ files }) =>
  files.flatMap((file) => {
    if (SQL.test(file.path)) return longLines(file, /^\s*--/)
    return CODE.test(file.path) && !isTest(file.path) ? longComments(file) : []
  })

function longLines({ path, text }: SourceFile, comment: RegExp): readonly Problem[] {
  return text
    .split('\n')
    .flatMap((line, index) => (comment.test(line) ? problemsOfLine(path, index + 1, line.length) : []))
}

/** Counts from the first column of the line on which a comment stands, with the code before the comment. */
function longComments(file: SourceFile): readonly Problem[] {
  const lines = file.text.split('\n')
  const numbers = commentsOf(file).flatMap(({ start, end }) => {
    const first = file.text.slice(0, start).split('\n').length
    const count = file.text.slice(start, end).split('\n').length
    return Array.from({ length: count }, (_, index) => first + index)
  })
  return [...new Set(numbers)].flatMap((line) => problemsOfLine(file.path, line, lines[line - 1]?.length ?? 0))
}

function problemsOfLine(path: string, line: number, columns: number): readonly Problem[] {
  if (columns <= COLUMNS_MAX) return []
  return [{ path, line, message: `a comment has ${columns} columns, more than ${COLUMNS_MAX}: wrap it at 110` }]
}
