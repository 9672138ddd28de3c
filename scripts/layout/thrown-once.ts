import type { Expression, Node } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, programOf, visitSyntax } from './syntax.ts'

const CATALOGUE = /^services\/([^/]+)\/src\/([a-z]+-)*errors\.ts$/
const CATALOGUE_IMPORT = /^\.{1,2}\/(\.\.\/)*([a-z]+-)*errors\.ts$/
/** Says which errors stand for what fails outside of routes, as `errorVocabulary`. Such a failure has no line that throws. */
const TRANSLATION = /\/src\/error-body\.ts$/
const TRANSLATION_IMPORT = /^\.{1,2}\/(\.\.\/)*error-body\.ts$/
const VOCABULARY = 'errorVocabulary'
/** The errors that are made in several places, and why. */
const MANY_PLACES: ReadonlyMap<string, string> = new Map([
  [
    'serverBusy',
    'each queue refuses by itself, and its metric says which was full; a message is refused whose subject has changed meanwhile',
  ],
  ['invalidFields', 'what is wrong with a value is in the text, and field-errors.ts has each text once'],
])

/** A place where an error is made, or handed to what makes it. */
interface Site {
  readonly error: string
  readonly service: string
  readonly file: SourceFile
  readonly start: number
}

/**
 * Outside of `error-body.ts`, an error of a catalogue is made on one line of its service, or handed on there
 * to what makes it, so that a search from its name finds the rule behind it. Places that refuse for the same
 * reason share a function: `requireUser`, `refuseToken`. A member of the vocabulary that a file asks for
 * counts as the error of its name.
 */
export const thrownOnce: Rule = (tree) => {
  const sites = productionFiles(tree, 'services')
    .filter(({ path }) => !CATALOGUE.test(path))
    .flatMap(sitesOf)
  const groups = Map.groupBy(sites, ({ error, service, file }) => `${service} ${error} ${TRANSLATION.test(file.path)}`)
  return [...groups.values()].flatMap(([first, ...others]) =>
    others.map(
      ({ error, file, start }): Problem => ({
        path: file.path,
        line: lineAt(file.text, start),
        message: `${error} is made in ${first?.file.path} too: share a function, or list it in scripts/layout/thrown-once.ts`,
      }),
    ),
  )
}

function sitesOf(file: SourceFile): readonly Site[] {
  const service = /^services\/([^/]+)\//.exec(file.path)?.[1] ?? ''
  const imports = importedErrors(file)
  const sites: Site[] = []
  const add = (expression: Expression | Node | null) => {
    const error = expression && nameOf(expression, imports)
    if (error && !MANY_PLACES.has(error)) sites.push({ error, service, file, start: expression.start })
  }
  visitSyntax(file, {
    CallExpression: ({ callee, arguments: values }) => [callee, ...values].forEach(add),
    NewExpression: ({ arguments: values }) => values.forEach(add),
    ArrayExpression: ({ elements }) => elements.forEach(add),
    ObjectExpression({ properties }) {
      for (const each of properties) if (each.type === 'Property') add(each.value)
    },
    VariableDeclarator: ({ init }) => add(init),
    AssignmentExpression: ({ right }) => add(right),
    AssignmentPattern: ({ right }) => add(right),
    ReturnStatement: ({ argument }) => add(argument),
    ArrowFunctionExpression: ({ body }) => add(body),
    ConditionalExpression: ({ consequent, alternate }) => {
      add(consequent)
      add(alternate)
    },
  })
  return sites
}

interface ImportedErrors {
  readonly names: ReadonlySet<string>
  /** The names of objects with errors: of `import * as errors`, and of `errorVocabulary`. */
  readonly spaces: ReadonlySet<string>
}

function importedErrors(file: SourceFile): ImportedErrors {
  const names = new Set<string>()
  const spaces = new Set<string>()
  for (const node of programOf(file).body) {
    if (node.type !== 'ImportDeclaration') continue
    const fromCatalogue = CATALOGUE_IMPORT.test(node.source.value)
    const fromTranslation = TRANSLATION_IMPORT.test(node.source.value)
    for (const { type, local } of node.specifiers) {
      if (fromCatalogue) (type === 'ImportSpecifier' ? names : spaces).add(local.name)
      if (fromTranslation && local.name === VOCABULARY) spaces.add(local.name)
    }
  }
  return { names, spaces }
}

/** The error that an expression names. Types, classes and tables of texts begin with a capital letter. */
function nameOf(expression: Expression | Node, { names, spaces }: ImportedErrors): string | undefined {
  const name = expression.type === 'Identifier' && names.has(expression.name) ? expression.name : memberOf(expression)
  return name !== undefined && /^[a-z]/.test(name) && !isText(name) ? name : undefined

  function memberOf(node: Expression | Node): string | undefined {
    if (node.type !== 'MemberExpression' || node.object.type !== 'Identifier' || node.computed) return undefined
    return spaces.has(node.object.name) && node.property.type === 'Identifier' ? node.property.name : undefined
  }
}

/** Functions of catalogues that return a text: `fieldText`. */
function isText(name: string): boolean {
  return name.endsWith('Text')
}
