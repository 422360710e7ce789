import { printLoggedErrors } from './logged-errors.ts'
import { printOpenPages } from './open-pages.ts'

// For each file: `beforeEach` of a module that files share would be for the first of them only.
printLoggedErrors()
printOpenPages()
