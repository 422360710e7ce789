/** The package's own types describe all 6,000 icons in one file of 8 MB. */
declare module '@tabler/icons-react/dist/esm/icons/*.mjs' {
  const icon: import('react').ComponentType<{ size: number; stroke: number; 'aria-hidden': true }>
  export default icon
}
