import type { Argument, Expression, Node } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile, type SourceTree } from './source-tree.ts'
import { commentsOf, lineAt, programOf, visitSyntax } from './syntax.ts'

const CATALOGUE = /^services\/[^/]+\/src\/([a-z]+-)*errors\.ts$/
/** The catalogue of a service, and files whose texts no HTTP client sees: settings, and commands with their input files. */
const EXEMPT = /^services\/[^/]+\/src\/(errors\.ts|[a-z-]+-errors\.ts|config\.ts|config\/|commands\/|seed\/)/
/** The catalogue of the framework, whose texts are in answers of services that use it. */
const FRAMEWORK_TEXTS = 'packages/endpoints/src/error-texts.ts'
const TEXT = String.raw`(['"\`])[^'"\`\n]* [^'"\`\n]*`
/** Places where a schema or check states the problem of a value, and where an error is created. */
const PLACES = [
  new RegExp(String.raw`\b(?:error|problem):\s*(?:\([^()]*\) => )?${TEXT}`, 'g'),
  new RegExp(String.raw`\baddIssue\(\{[^}]*\bmessage:\s*${TEXT}`, 'g'),
  new RegExp(String.raw`\.(?:refine|regex|min|max)\([^'"\`\n]*,\s*${TEXT}`, 'g'),
  /\b(?:defineError|new HttpError)\(/g,
]

const CHECKS = /^(refine|regex|min|max)$/
const ELSEWHERE = 'the text of an error stands in the catalogue: errors.ts, or a file …-errors.ts that it lists'

/**
 * The text of a service's error is only in its catalogue, so that a search for the text of an answer finds it. It is complete on
 * the line of its error: not a constant that several errors share, and not assembled from parts. A service has each text once. If
 * a text has several statuses or codes, a function of the catalogue has the text and takes the status or the code. A service that
 * uses the framework uses the framework's texts and has no lines for them.
 */
export const catalogueTexts: Rule = (tree) => {
  const files = productionFiles(tree, 'services')
  const catalogues = files.filter(({ path }) => CATALOGUE.test(path))
  const services = Map.groupBy(catalogues, ({ path }) => path.split('/')[1])
  return [
    ...files
      .filter(({ path }) => !EXEMPT.test(path))
      .flatMap((file) => [...textsElsewhere(file), ...namedTextsElsewhere(file)]),
    ...catalogues.flatMap(textsInPieces),
    ...[...services.values()].flatMap((own) => repeatedTexts([...frameworkTexts(tree, own), ...own])),
  ]
}

function textsElsewhere(file: SourceFile): readonly Problem[] {
  const { path, text } = file
  const comments = commentsOf(file)
  return PLACES.flatMap((place) => [...text.matchAll(place)])
    .filter(({ index }) => !comments.some(({ start, end }) => start <= index && index < end))
    .map(({ index }) => ({ path, line: lineAt(text, index), message: ELSEWHERE }))
}

/** Texts in variables that are used where a text is not allowed: `problem: TEXT`, or `{ problem }` with a variable `problem`. */
function namedTextsElsewhere(file: SourceFile): readonly Problem[] {
  const texts = new Set<string>()
  const used: { readonly name: string; readonly start: number }[] = []
  const use = (value: Node | undefined): void => {
    if (value?.type === 'Identifier') used.push({ name: value.name, start: value.start })
  }
  visitSyntax(file, {
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && init && isSentence(file, init)) texts.add(id.name)
    },
    Property({ key, value }) {
      if (key.type === 'Identifier' && /^(message|problem)$/.test(key.name)) use(value)
    },
    CallExpression({ callee, arguments: values }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      const isOfSchema = callee.object.type === 'Identifier' && callee.object.name === 'z'
      if (!isOfSchema && !CHECKS.test(callee.property.name)) return
      use(values[1])
      for (const value of values) use(errorOf(value))
    },
  })
  return used
    .filter(({ name }) => texts.has(name))
    .map(({ start }) => ({ path: file.path, line: lineAt(file.text, start), message: ELSEWHERE }))
}

function textsInPieces(file: SourceFile): readonly Problem[] {
  const declared = declaredIn(file)
  const problems: Problem[] = []
  visitSyntax(file, {
    CallExpression({ callee, arguments: values }) {
      if (callee.type !== 'Identifier') return
      // The message of `defineError` is its third argument. Other functions of the catalogue pass on all arguments.
      const messages = callee.name === 'defineError' ? values.slice(2, 3) : values
      for (const value of messages) {
        const isBuilt =
          callee.name === 'defineError' && value.type === 'TemplateLiteral' && value.expressions.length > 0
        if (!isBuilt && !isShared(value, declared)) continue
        const message =
          'write the text of an error whole, in the line of its error: a search from an answer finds it there'
        problems.push({ path: file.path, line: lineAt(file.text, value.start), message })
      }
    },
  })
  return problems
}

/** The catalogue of the framework, if catalogues of a service import it. */
function frameworkTexts(tree: SourceTree, catalogues: readonly SourceFile[]): readonly SourceFile[] {
  if (!catalogues.some(({ text }) => text.includes("'@trestle/endpoints/error-texts.ts'"))) return []
  return tree.files.filter(({ path }) => path === FRAMEWORK_TEXTS)
}

/** Texts that occur earlier in a catalogue of the same service. */
function repeatedTexts(catalogues: readonly SourceFile[]): readonly Problem[] {
  const places = new Map<string, SourceFile>()
  return catalogues.flatMap((file) =>
    wholeTexts(file).flatMap(({ text, start }): readonly Problem[] => {
      const earlier = places.get(text)
      places.set(text, earlier ?? file)
      if (earlier === undefined) return []
      const message = `the text stands in ${earlier.path} too: write a function that has it, and takes the status or the code`
      return [{ path: file.path, line: lineAt(file.text, start), message }]
    }),
  )
}

/**
 * Returns the texts of a catalogue's errors and tables, as written, with the same placeholder for all values. A text of fewer
 * than two words is a code or a separator.
 */
function wholeTexts(file: SourceFile): readonly { readonly text: string; readonly start: number }[] {
  const texts: { readonly text: string; readonly start: number }[] = []
  const addText = (value: Node) => {
    const written = value.type === 'ArrowFunctionExpression' ? value.body : value
    if (written.type === 'BlockStatement' || !isText(written)) return
    const text = file.text.slice(written.start, written.end).replaceAll(/\$\{[^}]*\}/g, '<value>')
    if (/[a-z].* /i.test(text)) texts.push({ text, start: written.start })
  }
  visitSyntax(file, {
    CallExpression({ arguments: values }) {
      for (const value of values) if (value.type !== 'SpreadElement') addText(value)
    },
    Property({ value }) {
      addText(value)
    },
  })
  return texts
}

interface Declared {
  /** The names of constants that are a text, and of functions that return a text. */
  readonly texts: ReadonlySet<string>
  /** The names of constants whose value is the result of a call. */
  readonly errors: ReadonlySet<string>
}

function declaredIn(file: SourceFile): Declared {
  const declarations = programOf(file).body.flatMap((node) => {
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node
    return declaration?.type === 'VariableDeclaration' ? declaration.declarations : []
  })
  const namesOf = (isWanted: (init: Expression | null) => boolean) =>
    new Set(declarations.flatMap(({ id, init }) => (id.type === 'Identifier' && isWanted(init) ? [id.name] : [])))
  return { texts: namesOf(isText), errors: namesOf((init) => init?.type === 'CallExpression') }
}

function isText(value: Node | null): boolean {
  if (value?.type === 'ArrowFunctionExpression') return value.body.type !== 'BlockStatement' && isText(value.body)
  return value?.type === 'TemplateLiteral' || (value?.type === 'Literal' && typeof value.value === 'string')
}

/** The member `error` of a schema's options. Other objects may use `error` for the reason of a failure. */
function errorOf(options: Argument): Node | undefined {
  if (options.type !== 'ObjectExpression') return undefined
  const found = options.properties.find(
    (each) => each.type === 'Property' && each.key.type === 'Identifier' && each.key.name === 'error',
  )
  return found?.type === 'Property' ? found.value : undefined
}

/** Whether a value is a text of at least two words. */
function isSentence({ text }: SourceFile, value: Node): boolean {
  return isText(value) && text.slice(value.start, value.end).includes(' ')
}

/** Whether an argument is a text of the file, or the message of an error of the file. */
function isShared(value: Argument, { texts, errors }: Declared): boolean {
  if (value.type === 'Identifier') return texts.has(value.name)
  if (value.type !== 'MemberExpression' || value.object.type !== 'Identifier') return false
  return errors.has(value.object.name) && value.property.type === 'Identifier' && value.property.name === 'message'
}
