import type { GrowingClass, GrowingModule } from './build-table.ts'

/**
 * Removes what something else with the same URL hides (reference: Name clashes): a submodule hides a class, a class hides what
 * `Default` has of that name, a nested class hides a suffix. Returns a warning for each.
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
