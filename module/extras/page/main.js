import { startCalculator } from "./calculator.js";
import { startViewer } from "./viewer.js";

startCalculator();
startViewer();
