import { readFileSync } from 'node:fs'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'

/** Returns the arrows between different states in each diagram of a module's README, sorted: `open --> used`. */
export function drawnFor(noun: string): readonly (readonly string[])[] {
  const text = readFileSync(new URL(`../src/${noun}/README.md`, import.meta.url), 'utf8')
  const isChange = (arrow: string) => new Set(arrow.split(' --> ')).size === 2
  return diagramsOf(text).map(({ arrows }) => [...arrows.keys()].filter(isChange).sort())
}
