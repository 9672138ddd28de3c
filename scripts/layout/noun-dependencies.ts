import { exceptListed } from './exceptions.ts'
import { placesOf } from './import-graph.ts'
import { type Problem, productionFiles, type Rule } from './source-tree.ts'
import { importsOf } from './syntax.ts'

/** A file in a folder of a service's `src`; files beside `deps.ts`, and what builds or serves the app, are above nouns. */
const NOUN = /^services\/[^/]+\/src\/(?!(?:commands|routes|controllers|plugins|use-cases)\/)[^/]+\//
const DEPS = /^services\/[^/]+\/src\/deps\.ts$/

/**
 * A noun takes what it uses, and says itself what that has to be. The bag of everything in `deps.ts` is filled above it;
 * even its type would tie every noun to all others.
 */
export const nounDependencies: Rule = (tree) => {
  const problems = productionFiles(tree, 'services')
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
  return exceptListed(tree, 'noun-dependencies', problems)
}
