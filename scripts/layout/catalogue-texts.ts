import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { commentsOf, lineAt } from './syntax.ts'

/** The catalogue of a service, and what no client of HTTP reads: settings, and commands with the files that they read. */
const EXEMPT = /^services\/[^/]+\/src\/(errors\.ts|[a-z-]+-errors\.ts|config\.ts|config\/|commands\/|seed\/)/
const TEXT = String.raw`(['"\`])[^'"\`\n]* [^'"\`\n]*`
/** Where a schema or a check states what is wrong with a value, and where an error is made. */
const PLACES = [
  new RegExp(String.raw`\b(?:error|problem):\s*(?:\([^()]*\) => )?${TEXT}`, 'g'),
  new RegExp(String.raw`\baddIssue\(\{[^}]*\bmessage:\s*${TEXT}`, 'g'),
  new RegExp(String.raw`\.(?:refine|regex|min|max)\([^'"\`\n]*,\s*${TEXT}`, 'g'),
  /\b(?:defineError|new HttpError)\(/g,
]

/** The text of an error of a service stands in its catalogue alone, so that a search from an answer finds it there. */
export const catalogueTexts: Rule = (tree) =>
  productionFiles(tree, 'services')
    .filter(({ path }) => !EXEMPT.test(path))
    .flatMap(textsOf)

function textsOf(file: SourceFile): readonly Problem[] {
  const { path, text } = file
  const comments = commentsOf(file)
  return PLACES.flatMap((place) => [...text.matchAll(place)])
    .filter(({ index }) => !comments.some(({ start, end }) => start <= index && index < end))
    .map(({ index }) => ({
      path,
      line: lineAt(text, index),
      message: 'the text of an error stands in the catalogue: errors.ts, or a file …-errors.ts that it lists',
    }))
}
