import type { Names } from '@trestle/migrations/migration.ts'
import {
  AliasNode,
  IdentifierNode,
  type KyselyPlugin,
  type OperationNode,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  type RootOperationNode,
  type SchemableIdentifierNode,
  TableNode,
  type UnknownRow,
} from 'kysely'

/**
 * Adds the schema and the prefix to every table and function name of a query, so that code says `users`. It leaves out names of
 * common table expressions, aliases in FROM, and `excluded`.
 */
export class TablePrefixPlugin implements KyselyPlugin {
  readonly #names: Names

  constructor(names: Names) {
    this.#names = names
  }

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    const local = new Set(['excluded'])
    collectLocalNames(node, local)
    return new TablePrefixTransformer(this.#names, local).transformNode(node)
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result
  }
}

class TablePrefixTransformer extends OperationNodeTransformer {
  readonly #names: Names
  readonly #local: ReadonlySet<string>

  constructor(names: Names, local: ReadonlySet<string>) {
    super()
    this.#names = names
    this.#local = local
  }

  protected override transformSchemableIdentifier(node: SchemableIdentifierNode): SchemableIdentifierNode {
    if (node.schema || this.#local.has(node.identifier.name)) return node
    return {
      ...node,
      schema: IdentifierNode.create(this.#names.schema),
      identifier: IdentifierNode.create(this.#names.prefix + node.identifier.name),
    }
  }
}

/** Names that exist only inside the query. The alias of a selected column is not one: it may equal the name of a table. */
function collectLocalNames(node: OperationNode, into: Set<string>): void {
  for (const [key, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (!isNode(child)) continue
      if (node.kind === 'CommonTableExpressionNameNode' && TableNode.is(child)) into.add(child.table.identifier.name)
      if (isTablePosition(node, key) && AliasNode.is(child) && IdentifierNode.is(child.alias)) {
        into.add(child.alias.name)
      }
      collectLocalNames(child, into)
    }
  }
}

function isTablePosition(parent: OperationNode, key: string): boolean {
  return key === 'froms' || key === 'tables' || key === 'into' || (key === 'table' && !TableNode.is(parent))
}

function isNode(value: unknown): value is OperationNode {
  return typeof value === 'object' && value !== null && 'kind' in value
}
