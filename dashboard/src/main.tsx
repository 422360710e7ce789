import './mantine.css'
import './style.css'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { printInLight } from './theme.ts'

printInLight()
const root = document.getElementById('root')
if (root) createRoot(root).render(<App />)
