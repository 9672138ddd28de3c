import { posix } from 'node:path'
import { INCLUDE } from '../../migrations/fragments.ts'
import { nameLengthMax } from './migration-files.ts'
import type { Problem, Rule, SourceFile, SourceTree } from './source-tree.ts'
import { lineAt } from './syntax.ts'

/** Matches `CREATE OR REPLACE FUNCTION {{name}}(`, or an incorrect form of it. */
const CREATION = /\bCREATE\s+(OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\s+([^\s(]+)/gi
/** Braces around a word are intended as a token. Braces around a number or a list are an array. */
const TOKEN = /\{\{\s*[a-z][^{}\s]*\s*\}{0,2}/gi
const WELL_FORMED = /^\{\{(?:local:)?[a-z][a-z0-9_]*\}\}$/
const PARAMETER = /\{\{:[^}]*\}\}/g
/** One statement, whose body is the only dollar-quoted text and ends the statement. */
const ONE_STATEMENT = /^CREATE\b[^;$]*\$\$(?:(?!\$\$).)*\$\$;$/is
const CREATED_BY_NUMBER = /\bFUNCTION\s+\$\{names\.id\('([a-z0-9_]+)'\)\}/gi

interface Functions {
  readonly service: string
  readonly functions: readonly SourceFile[]
  readonly fragments: readonly SourceFile[]
}

/**
 * A SQL function is one file: `migrations/<service>/functions/<name>.sql` creates only `{{name}}`, from the fragments that it
 * includes, and ends in `$$;`. No numbered migration also creates it, and `migrations/<service>.ts` exports all of them.
 */
export const functionFiles: Rule = (tree) => {
  const files = tree.files.filter(({ path }) => /^migrations\/.*\.sql$/.test(path))
  const services = new Set(files.flatMap(({ path }) => /^migrations\/([^/]+)\/functions\//.exec(path)?.[1] ?? []))
  const all = [...services].map((service): Functions => {
    const folder = `migrations/${service}/functions`
    return {
      service,
      functions: files.filter(({ path }) => posix.dirname(path) === folder),
      fragments: files.filter(({ path }) => posix.dirname(path) === `${folder}/fragments`),
    }
  })
  const read = new Set(all.flatMap(({ functions, fragments }) => [...functions, ...fragments]))
  return [
    ...files.filter((file) => !read.has(file)).map(({ path }) => ({ path, message: 'is in no folder of functions' })),
    ...[...read].flatMap(malformedTokens),
    ...all.flatMap((each) => [
      ...each.functions.flatMap(creationProblems),
      ...each.fragments.flatMap(fragmentProblems),
      ...includeProblems(each),
      ...createdTwice(tree, each),
      ...exportProblems(tree, each),
    ]),
  ]
}

function malformedTokens(file: SourceFile): readonly Problem[] {
  // Replace includes by blanks, so that the line numbers stay the same.
  const text = file.text.replaceAll(INCLUDE, (token) => token.replaceAll(/[^\n]/g, ' '))
  return [...text.matchAll(TOKEN)]
    .filter(([token]) => !WELL_FORMED.test(token))
    .map(({ 0: token, index }) => ({
      path: file.path,
      line: lineAt(text, index),
      message: `${token} is none of {{name}}, {{local:name}} and {{include:name.sql}}`,
    }))
}

function creationProblems(file: SourceFile): readonly Problem[] {
  const name = nameOf(file)
  const { path } = file
  const created = creationsOf(file)
  const parameters = [...file.text.replaceAll(INCLUDE, '').matchAll(PARAMETER)].map(
    ([parameter]): Problem => ({ path, message: `uses ${parameter}, which only a fragment has` }),
  )
  const problems: Problem[] = created
    .filter(({ text }) => text !== `CREATE OR REPLACE FUNCTION {{${name}}}`)
    .map(({ text, line }) => ({ path, line, message: `says ${text}: CREATE OR REPLACE FUNCTION {{${name}}}` }))
  if (created.length !== 1) problems.push({ path, message: `creates ${created.length} functions; a file holds one` })
  else if (!ONE_STATEMENT.test(withoutComments(file).trim())) {
    problems.push({ path, message: 'is something else than one CREATE OR REPLACE FUNCTION that ends in $$;' })
  }
  if (name.length > nameLengthMax) {
    problems.push({ path, message: `has a name of ${name.length} characters; at most ${nameLengthMax}` })
  }
  return [...problems, ...parameters]
}

function fragmentProblems(file: SourceFile): readonly Problem[] {
  return creationsOf(file).map(({ line }) => ({
    path: file.path,
    line,
    message: 'creates a function; a fragment is included in one',
  }))
}

/** The objects that a file creates, outside comments. */
function creationsOf(file: SourceFile): readonly { readonly text: string; readonly line: number }[] {
  const code = withoutComments(file)
  return [...code.matchAll(CREATION)].map((match) => ({
    text: match[0].replaceAll(/\s+/g, ' '),
    line: lineAt(code, match.index),
  }))
}

function withoutComments({ text }: SourceFile): string {
  return text.replaceAll(/--.*/g, '')
}

/** Included fragments exist, and every fragment is included. */
function includeProblems({ functions, fragments }: Functions): readonly Problem[] {
  const names = new Set(fragments.map(({ path }) => posix.basename(path)))
  const included = new Set<string>()
  const problems: Problem[] = []
  for (const { path, text } of [...functions, ...fragments]) {
    for (const { 1: name = '', index } of text.matchAll(INCLUDE)) {
      included.add(name)
      if (!names.has(name))
        problems.push({ path, line: lineAt(text, index), message: `includes ${name}, which is not there` })
    }
  }
  const unused = fragments.filter(({ path }) => !included.has(posix.basename(path)))
  return [...problems, ...unused.map(({ path }) => ({ path, message: 'is included in no function' }))]
}

function createdTwice(tree: SourceTree, { service, functions }: Functions): readonly Problem[] {
  const names = new Set(functions.map(nameOf))
  return tree.files
    .filter(({ path }) => path.startsWith(`migrations/${service}/`) && path.endsWith('.ts'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(CREATED_BY_NUMBER)]
        .filter(([, name = '']) => names.has(name))
        .map(({ 1: name, index }) => ({
          path,
          line: lineAt(text, index),
          message: `names the function ${name}, which has a file`,
        })),
    )
}

function exportProblems(tree: SourceTree, { service }: Functions): readonly Problem[] {
  const path = `migrations/${service}.ts`
  const text = tree.files.find((file) => file.path === path)?.text ?? ''
  const expected = `functionsIn(new URL('./${service}/functions/', import.meta.url))`
  const isExported = new RegExp(`^export const ${service}Functions\\b`, 'm').test(text) && text.includes(expected)
  return isExported ? [] : [{ path, message: `exports no ${service}Functions, which are ${expected}` }]
}

function nameOf({ path }: SourceFile): string {
  return posix.basename(path, '.sql')
}
