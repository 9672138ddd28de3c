import { basePath } from '../routing/pattern.ts'
import type { ClassNode, Endpoint, ModuleNode, RouteTable } from '../routing/table.ts'

/** The table before the controllers are loaded. */
export const emptyTable: RouteTable = { root: createModule(), endpoints: [], warnings: [] }

/** A node of the tree while it is built. */
export interface GrowingModule extends ModuleNode {
  readonly modules: Map<string, GrowingModule>
  readonly classes: Map<string, GrowingClass>
  fallback: GrowingClass | undefined
}

/** A class of the table while the table is built, with the place that messages about it name. */
export interface GrowingClass extends ClassNode {
  readonly source: string
  readonly className: string
  readonly classes: Map<string, GrowingClass>
  readonly suffixes: Map<string, Endpoint>
}

/** Creates a module without classes and without modules inside. */
export function createModule(): GrowingModule {
  return { modules: new Map(), classes: new Map(), fallback: undefined }
}

/**
 * Removes classes and suffixes that something else with the same URL hides (reference: Name clashes). Returns a warning for each.
 */
export function dropUnreachable(module: GrowingModule, path = ''): readonly string[] {
  const warnings: string[] = []
  const drop = (children: Map<string, unknown>, hidden: (name: string) => string | undefined, what: string): void => {
    for (const name of children.keys()) {
      const by = hidden(name)
      if (by === undefined) continue
      children.delete(name)
      warnings.push(`${path}/${name}: the ${by} hides the ${what}`)
    }
  }
  const { modules, classes, fallback } = module
  const inModule = (name: string): string | undefined => (modules.has(name) ? 'module' : undefined)
  const inClasses = (name: string): string | undefined => inModule(name) ?? (classes.has(name) ? 'class' : undefined)
  drop(classes, inModule, 'class')
  if (fallback !== undefined) {
    drop(fallback.classes, inClasses, 'class in Default')
    drop(fallback.suffixes, inClasses, 'suffix of a method of Default')
  }
  const dropSuffixes = (node: GrowingClass): void => {
    drop(
      node.suffixes,
      (name) => (node.classes.has(name) ? 'class' : undefined),
      `suffix of a method of ${node.className}`,
    )
    for (const nested of node.classes.values()) dropSuffixes(nested)
  }
  for (const node of [...classes.values(), ...(fallback === undefined ? [] : [fallback])]) dropSuffixes(node)
  return [...warnings, ...[...modules].flatMap(([name, child]) => dropUnreachable(child, `${path}/${name}`))]
}

/** All endpoints of the tree, in the order of their URLs. */
export function endpointsOf(root: ModuleNode): readonly Endpoint[] {
  const ofClass = (node: ClassNode): Endpoint[] => [
    node,
    ...node.suffixes.values(),
    ...[...node.classes.values()].flatMap(ofClass),
  ]
  const ofModule = (node: ModuleNode): Endpoint[] => [
    ...(node.fallback === undefined ? [] : ofClass(node.fallback)),
    ...[...node.classes.values()].flatMap(ofClass),
    ...[...node.modules.values()].flatMap(ofModule),
  ]
  const byPath = (a: Endpoint, b: Endpoint): number => (basePath(a) < basePath(b) ? -1 : 1)
  return ofModule(root).sort(byPath)
}
