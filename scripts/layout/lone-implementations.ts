import type { Class, PropertyKey as MemberKey, ObjectExpression, TSSignature } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

const FOLDERS = ['services', 'packages', 'migrations', 'bench', 'scripts', 'examples']
/** Interfaces whose members one class or object has, and why they are no layer of their own. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['ProviderApi', 'an external provider stands behind it: what a provider file may ask of it'],
])

/** A class that implements an interface. */
interface Implementation {
  readonly file: SourceFile
  readonly start: number
  readonly name: string
}

/** An exported interface with methods. */
interface Behaviour {
  readonly file: SourceFile
  readonly start: number
  readonly name: string
  readonly members: readonly string[]
  /** Whether it has no data. One with data may be the options of a function. */
  readonly hasOnlyMethods: boolean
}

/** An object that is written out. */
interface WrittenObject {
  readonly file: SourceFile
  readonly members: ReadonlySet<string>
}

/** The declarations that bear on the rule. */
interface Declarations {
  readonly interfaces: Set<string>
  readonly implementations: Implementation[]
  readonly behaviours: Behaviour[]
  readonly classes: { readonly name: string; readonly members: ReadonlySet<string> }[]
  readonly objects: WrittenObject[]
  /** The paths of production code. */
  readonly production: ReadonlySet<string>
}

/**
 * An interface of ours that a class implements has a second class. With one, the class is the type: a file that needs less of it
 * states that part where it is needed. Interfaces of libraries and of the language have other implementations outside.
 *
 * A class also implements an interface without saying so, when it has all its members. Such an interface is refused if other
 * files may import it, and if no second class and no object have its members.
 *
 * The same holds for an interface of functions alone that one object has, in another file: a caller can take the functions
 * singly. Beside its only object, an interface is the return type of the function that makes the object.
 */
export const loneImplementations: Rule = (tree) => {
  const production = new Set(productionFiles(tree, ...FOLDERS).map(({ path }) => path))
  const declared = declarationsOf(
    tree.files.filter(({ path }) => path.endsWith('.ts')),
    production,
  )
  const structural = structuralProblems(declared)
  return [
    ...statedProblems(declared),
    ...structural.filter(({ name }) => !EXCEPTIONS.has(name)).map(({ problem }) => problem),
    ...surplusExceptions(declared, new Set(structural.map(({ name }) => name))),
  ]
}

function statedProblems({ interfaces, implementations }: Declarations): readonly Problem[] {
  return implementations
    .filter(({ name }) => interfaces.has(name) && implementations.filter((each) => each.name === name).length === 1)
    .map(({ file, start, name }) => ({
      path: file.path,
      line: lineAt(file.text, start),
      message: `is the only class that implements ${name}: use the class as the type`,
    }))
}

interface StructuralProblem {
  /** The interface. */
  readonly name: string
  readonly problem: Problem
}

function structuralProblems(declared: Declarations): readonly StructuralProblem[] {
  const stated = new Set(declared.implementations.map(({ name }) => name))
  return declared.behaviours.flatMap((behaviour): readonly StructuralProblem[] => {
    const { file, start, name } = behaviour
    const message = stated.has(name) ? undefined : refusalOf(behaviour, declared)
    return message === undefined
      ? []
      : [{ name, problem: { path: file.path, line: lineAt(file.text, start), message } }]
  })
}

function refusalOf(
  { file, name, members, hasOnlyMethods }: Behaviour,
  { classes, objects, production }: Declarations,
): string | undefined {
  const hasAll = (those: ReadonlySet<string>) => members.every((member) => those.has(member))
  const [found, ...others] = classes.filter((each) => hasAll(each.members))
  const [object, ...otherObjects] = objects.filter((each) => hasAll(each.members))
  if (others.length > 0 || otherObjects.length > 0) return undefined
  if (found !== undefined)
    return object ? undefined : `${name} has its members in the class ${found.name} alone: use the class as the type`
  if (!hasOnlyMethods || object === undefined || object.file === file || !production.has(file.path)) return undefined
  return `${name} has its members in one object of ${object.file.path} alone: declare it there, or take the functions`
}

function surplusExceptions({ behaviours }: Declarations, found: ReadonlySet<string>): readonly Problem[] {
  return behaviours
    .filter(({ name }) => EXCEPTIONS.has(name) && !found.has(name))
    .map(({ file, start, name }) => ({
      path: file.path,
      line: lineAt(file.text, start),
      message: `${name} is no lone interface: take it from the exceptions of lone-implementations.ts`,
    }))
}

function declarationsOf(files: readonly SourceFile[], production: ReadonlySet<string>): Declarations {
  const declared: Declarations = {
    interfaces: new Set(),
    implementations: [],
    behaviours: [],
    classes: [],
    objects: [],
    production,
  }
  for (const file of files) {
    visitSyntax(file, {
      TSInterfaceDeclaration: ({ id }) => void declared.interfaces.add(id.name),
      ExportNamedDeclaration({ declaration }) {
        if (declaration?.type !== 'TSInterfaceDeclaration') return
        const methods = declaration.body.body.filter(isMethod)
        if (methods.length === 0) return
        const members = declaration.body.body.flatMap((member) => ('key' in member ? nameOf(member.key) : []))
        // A class may have one member of that name by chance, so an interface of one member proves nothing.
        if (members.length < 2) return
        const hasOnlyMethods = methods.length === declaration.body.body.length
        declared.behaviours.push({ file, start: declaration.start, name: declaration.id.name, members, hasOnlyMethods })
      },
      ClassDeclaration(declaration) {
        for (const { expression, start } of declaration.implements ?? [])
          if (expression.type === 'Identifier') declared.implementations.push({ file, start, name: expression.name })
        declared.classes.push({ name: declaration.id?.name ?? '', members: membersOf(declaration) })
      },
      ObjectExpression: (object) => void declared.objects.push({ file, members: namesIn(object) }),
    })
  }
  return declared
}

function isMethod(member: TSSignature): boolean {
  return (
    member.type === 'TSMethodSignature' ||
    (member.type === 'TSPropertySignature' && member.typeAnnotation?.typeAnnotation.type === 'TSFunctionType')
  )
}

function membersOf({ body }: Class): ReadonlySet<string> {
  return new Set(body.body.flatMap((member) => ('key' in member ? nameOf(member.key) : [])))
}

function namesIn({ properties }: ObjectExpression): ReadonlySet<string> {
  return new Set(properties.flatMap((property) => (property.type === 'Property' ? nameOf(property.key) : [])))
}

/** The name of a member; none for a private or a computed one. */
function nameOf(key: MemberKey): readonly string[] {
  return key.type === 'Identifier' ? [key.name] : []
}
