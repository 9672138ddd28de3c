import type { Function as FunctionNode, ParamPattern, TSType } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { programOf } from './syntax.ts'

const USE_CASE = /^services\/[^/]+\/src\/use-cases\/(?:.*\/)?([^/]+)\.ts$/
/** The queue gives a job and its attempt. */
const TAKES_JOBS = /\bjobs\.work\(/

/**
 * An act takes its dependencies, and then one argument: an input with its members, or one value. Behind it stands only a
 * function of the caller, or the attempt of a job. A type that the file of the act exports for it is its input.
 */
export const useCaseArguments: Rule = (tree) => productionFiles(tree, 'services').flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  const name = USE_CASE.exec(file.path)?.[1]?.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  if (name === undefined) return []
  const input = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const { acts, exported } = declarationsOf(file, name)
  return acts.flatMap(({ params: [, taken, ...others] }): Problem[] => {
    const type = taken && typeOf(taken)
    const [behind, ...rest] = others
    const mayFollow = behind === undefined || isFunction(behind) || TAKES_JOBS.test(file.text)
    if (!mayFollow || rest.length > 0)
      return [{ path: file.path, message: `takes several arguments: make them members of one input: ${input}` }]
    if (type?.type === 'TSTypeLiteral')
      return [{ path: file.path, message: `takes members whose type has no name: call it ${input}` }]
    const named = nameOf(type)
    if (named === undefined || named === input || !exported.has(named)) return []
    return [{ path: file.path, message: `takes ${named}, which it exports: call it ${input}` }]
  })
}

/** The functions of a name, and the names of the types that the file exports. */
function declarationsOf(
  file: SourceFile,
  name: string,
): { readonly acts: readonly FunctionNode[]; readonly exported: ReadonlySet<string> } {
  const acts: FunctionNode[] = []
  const exported = new Set<string>()
  for (const statement of programOf(file).body) {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declared?.type === 'FunctionDeclaration' && declared.id?.name === name) acts.push(declared)
    if (declared?.type === 'TSInterfaceDeclaration' || declared?.type === 'TSTypeAliasDeclaration') {
      if (statement.type === 'ExportNamedDeclaration') exported.add(declared.id.name)
    }
  }
  return { acts, exported }
}

function typeOf(parameter: ParamPattern): TSType | undefined {
  if (parameter.type === 'AssignmentPattern') return parameter.left.typeAnnotation?.typeAnnotation
  return 'typeAnnotation' in parameter ? parameter.typeAnnotation?.typeAnnotation : undefined
}

/** Whether a parameter is a function, or `runWork`, whose type is that of a function. */
function isFunction(parameter: ParamPattern): boolean {
  const type = typeOf(parameter)
  return type?.type === 'TSFunctionType' || nameOf(type) === 'RunWork'
}

function nameOf(type: TSType | undefined): string | undefined {
  return type?.type === 'TSTypeReference' && type.typeName.type === 'Identifier' ? type.typeName.name : undefined
}
