import type { Declaration, Expression, Statement, TSTypeName } from 'oxc-parser'
import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, programOf } from './syntax.ts'

/**
 * A thing has one name and one file. A declaration that only gives an import another name (`export type Input = other.Input`)
 * is a re-export, which the linter does not see.
 */
export const aliases: Rule = (tree) => tree.files.filter(({ path }) => path.endsWith('.ts')).flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  const { body } = programOf(file)
  const imported = new Set(body.flatMap(importedNames))
  const namespaces = new Set(body.flatMap(namespaceNames))
  /** `x` of `import { x }`, or `other.x` of `import * as other`. A member of an imported object is a value of its own. */
  const isImport = (node: Expression | TSTypeName): boolean => {
    if (node.type === 'Identifier') return imported.has(node.name)
    if (node.type === 'TSQualifiedName') return isNamespace(node.left)
    return node.type === 'MemberExpression' && isNamespace(node.object)
  }
  const isNamespace = (node: Expression | TSTypeName): boolean =>
    node.type === 'Identifier' && namespaces.has(node.name)
  return body.flatMap((statement): Problem[] => {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) return []
    return aliasesIn(statement.declaration, isImport).map((name) => ({
      path: file.path,
      line: lineAt(file.text, statement.start),
      message: `${name} only renames an import: import it where it is used`,
    }))
  })
}

function importedNames(statement: Statement): readonly string[] {
  return statement.type === 'ImportDeclaration' ? statement.specifiers.map(({ local }) => local.name) : []
}

function namespaceNames(statement: Statement): readonly string[] {
  if (statement.type !== 'ImportDeclaration') return []
  return statement.specifiers.flatMap(({ type, local }) => (type === 'ImportNamespaceSpecifier' ? [local.name] : []))
}

function aliasesIn(declaration: Declaration, isImport: (node: Expression | TSTypeName) => boolean): readonly string[] {
  if (declaration.type === 'TSTypeAliasDeclaration') {
    const { id, typeAnnotation: type } = declaration
    if (type.type !== 'TSTypeReference' || type.typeArguments) return []
    return type.typeName.type !== 'ThisExpression' && isImport(type.typeName) ? [id.name] : []
  }
  if (declaration.type === 'TSInterfaceDeclaration') {
    const { id, body, extends: parents } = declaration
    const [parent] = parents
    if (body.body.length > 0 || parents.length !== 1 || parent === undefined || parent.typeArguments) return []
    return isImport(parent.expression) ? [id.name] : []
  }
  if (declaration.type !== 'VariableDeclaration') return []
  return declaration.declarations.flatMap(({ id, init }) =>
    id.type === 'Identifier' && init && isImport(init) ? [id.name] : [],
  )
}
