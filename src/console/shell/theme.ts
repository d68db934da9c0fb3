// Light, dark, or as the system has it.
import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'
export const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const KEPT = 'laneway.theme'

const kept = localStorage.getItem(KEPT)
export const theme = signal<Theme>(THEMES.find((each) => each === kept) ?? 'system')

/** Makes the page look as chosen. */
export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}

/** Chooses how the page looks, for this browser from now on. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  localStorage.setItem(KEPT, chosen)
  applyTheme()
}
