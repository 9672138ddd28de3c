import type { Class, PropertyKey as MemberKey, ObjectExpression, TSInterfaceDeclaration } from 'oxc-parser'
import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** Interfaces whose members one class has, and why the class cannot be the type. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  [
    'ControllerApplication',
    'a published type; the class Application imports the files that use it, so they cannot import it',
  ],
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
}

/** What the files declare that bears on the rule. */
interface Declarations {
  readonly interfaces: Set<string>
  readonly implementations: Implementation[]
  readonly behaviours: Behaviour[]
  readonly classes: { readonly name: string; readonly members: ReadonlySet<string> }[]
  /** The members of each object that is written out. */
  readonly objects: ReadonlySet<string>[]
}

/**
 * An interface of ours that a class implements has a second class. With one, the class is the type: whoever needs less of it
 * states that part where it is needed. Interfaces of libraries and of the language have other implementations outside.
 *
 * A class also implements an interface without saying so, when it has all its members. Such an interface is refused if other
 * files may import it, and if no second class and no object have its members.
 */
export const loneImplementations: Rule = ({ files }) => {
  const declared = declarationsOf(files.filter(({ path }) => path.endsWith('.ts')))
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
  const { behaviours, classes, objects, implementations } = declared
  const stated = new Set(implementations.map(({ name }) => name))
  return behaviours.flatMap(({ file, start, name, members }): readonly StructuralProblem[] => {
    if (stated.has(name)) return []
    const hasAll = (those: ReadonlySet<string>) => members.every((member) => those.has(member))
    const [found, ...others] = classes.filter((each) => hasAll(each.members))
    if (found === undefined || others.length > 0 || objects.some(hasAll)) return []
    const message = `${name} has its members in the class ${found.name} alone: use the class as the type`
    return [{ name, problem: { path: file.path, line: lineAt(file.text, start), message } }]
  })
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

function declarationsOf(files: readonly SourceFile[]): Declarations {
  const declared: Declarations = {
    interfaces: new Set(),
    implementations: [],
    behaviours: [],
    classes: [],
    objects: [],
  }
  for (const file of files) {
    visitSyntax(file, {
      TSInterfaceDeclaration: ({ id }) => void declared.interfaces.add(id.name),
      ExportNamedDeclaration({ declaration }) {
        if (declaration?.type !== 'TSInterfaceDeclaration' || !hasMethods(declaration)) return
        const members = declaration.body.body.flatMap((member) => ('key' in member ? nameOf(member.key) : []))
        // Many classes have any one name.
        if (members.length < 2) return
        declared.behaviours.push({ file, start: declaration.start, name: declaration.id.name, members })
      },
      ClassDeclaration(declaration) {
        for (const { expression, start } of declaration.implements ?? [])
          if (expression.type === 'Identifier') declared.implementations.push({ file, start, name: expression.name })
        declared.classes.push({ name: declaration.id?.name ?? '', members: membersOf(declaration) })
      },
      ObjectExpression: (object) => void declared.objects.push(namesIn(object)),
    })
  }
  return declared
}

function hasMethods({ body }: TSInterfaceDeclaration): boolean {
  return body.body.some(
    (member) =>
      member.type === 'TSMethodSignature' ||
      (member.type === 'TSPropertySignature' && member.typeAnnotation?.typeAnnotation.type === 'TSFunctionType'),
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
