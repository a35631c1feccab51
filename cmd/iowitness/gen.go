// SPDX-License-Identifier: Apache-2.0

package main

//go:generate go run . causes --markdown -o ../../docs/CAUSES.md
//go:generate go run . fields -o ../../docs/FIELDS.md
//go:generate go run . fields --of request -o ../../docs/REQUESTS.md
//go:generate go run . doctor --markdown -o ../../docs/DOCTOR.md
//go:generate go run . fs --markdown -o ../../docs/FILESYSTEMS.md
//go:generate go run . func --markdown -o ../../docs/FUNCTIONS.md
//go:generate go run . list --markdown -o ../../docs/LIST.md
//go:generate go run . errors --markdown -o ../../docs/ERRORS.md
//go:generate go run . cpu --markdown -o ../../docs/CPU.md
//go:generate go run . offcpu --markdown -o ../../docs/OFFCPU.md
//go:generate go run . runq --markdown -o ../../docs/RUNQ.md
