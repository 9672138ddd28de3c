import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** A class that implements an interface. */
interface Implementation {
  readonly file: SourceFile
  readonly start: number
  readonly name: string
}

/**
 * An interface of ours that a class implements has a second class. With one, the class is the type: whoever needs less of it
 * states that part where it is needed. Interfaces of libraries and of the language have other implementations outside.
 */
export const loneImplementations: Rule = ({ files }) => {
  const declared = new Set<string>()
  const found: Implementation[] = []
  for (const file of files.filter(({ path }) => path.endsWith('.ts'))) {
    visitSyntax(file, {
      TSInterfaceDeclaration: ({ id }) => void declared.add(id.name),
      ClassDeclaration({ implements: interfaces }) {
        for (const { expression, start } of interfaces ?? [])
          if (expression.type === 'Identifier') found.push({ file, start, name: expression.name })
      },
    })
  }
  return found
    .filter(({ name }) => declared.has(name) && found.filter((each) => each.name === name).length === 1)
    .map(
      ({ file, start, name }): Problem => ({
        path: file.path,
        line: lineAt(file.text, start),
        message: `is the only class that implements ${name}: use the class as the type`,
      }),
    )
}
