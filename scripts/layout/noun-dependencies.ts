import { placesOf } from './import-graph.ts'
import { type Problem, productionFiles, type Rule } from './source-tree.ts'
import { importsOf } from './syntax.ts'

/**
 * A file in a folder of a service's `src`. Files beside `deps.ts`, and folders that build or serve the app, are above the
 * nouns.
 */
const NOUN = /^services\/[^/]+\/src\/(?!(?:commands|routes|controllers|plugins|use-cases)\/)[^/]+\//
const DEPS = /^services\/[^/]+\/src\/deps\.ts$/

/** A noun defines the type of what it needs. It never imports `deps.ts`, whose type alone would tie it to all other nouns. */
export const nounDependencies: Rule = (tree) =>
  productionFiles(tree, 'services')
    .filter(({ path }) => NOUN.test(path))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ specifier }) => placesOf(file.path, specifier).some((place) => DEPS.test(place)))
        .map(
          ({ line }): Problem => ({
            path: file.path,
            line,
            message: 'a noun never imports deps.ts: say what it needs',
          }),
        ),
    )
